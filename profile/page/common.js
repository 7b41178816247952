// What all pages have.

const part = (id) => document.getElementById(id);

function element(name, text, kind = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = kind;
  return made;
}

/** The expression that is searched for; null: none. What is no expression is looked for as it is. */
function expression() {
  const text = part("search").value;
  if (text === "") return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i");
  }
}
