#pragma once

/// All public headers.
#include "kvstream/buffer.h"
#include "kvstream/chunk_key.h"
#include "kvstream/engine.h"
#include "kvstream/log.h"
#include "kvstream/options.h"
#include "kvstream/stats.h"
#include "kvstream/status.h"
#include "kvstream/version.h"
