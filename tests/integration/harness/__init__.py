"""Two hosts, real .NET applications, stock tools, and the farport binary under test."""
