#pragma once

/// The version of the library, as in CMakeLists.txt.
#define KVSTREAM_VERSION "0.1.0"
