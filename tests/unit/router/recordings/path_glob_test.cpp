#include "router/recordings/path_glob.hpp"

#include <string>

#include <catch2/catch.hpp>

using farport::router::PathGlob;

TEST_CASE("Globs fit paths by their segments", "[recordings]") {
  struct {
    const char* glob;
    const char* path;
    bool fits;
  } const cases[] = {
      {"**/*", "/", true},
      {"**/*", "/orders/7", true},
      {"/images/**/*", "/images/logo.png", true},
      {"/images/**/*", "/images/products/1.png", true},
      {"/images/**/*", "/index/header.png", false},
      {"/images/**/*", "/images", false},
      {"**/*.js", "/script.js", true},
      {"**/*.js", "/path/sub/script.js", true},
      {"**/*.js", "/script.js/page.html", false},
      {"**/sub/*.html", "/path/sub/page.html", true},
      {"**/sub/*.html", "/sub/page.html", true},
      {"**/sub/*.html", "/path/xsub/page.html", false},
      {"**/sub/*.html", "/path/doc.txt", false},
      {"/Orders/*", "/orders/7", true},
      {"/orders/*", "/orders/7/lines", false},
      {"/orders/**", "/orders/7/lines", true},
      {"/orders", "/orders/", false},
      {"/a*b*c", "/abbbcc", true},
      {"/a*b*c", "/ab/bcc", false},
      {"", "", true},
      {"*", "", true},
  };
  for (const auto& each : cases) {
    INFO(each.glob << " " << each.path);
    CHECK(PathGlob(each.glob).matches(each.path) == each.fits);
  }
}

TEST_CASE("A glob of many stars takes no long time", "[recordings]") {
  std::string glob;
  for (int i = 0; i < 80; ++i) glob += "**/*a";
  CHECK_FALSE(PathGlob(glob).matches(std::string(256, 'a') + "b"));
}
