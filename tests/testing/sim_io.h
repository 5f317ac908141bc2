#pragma once

/// Files and devices that live in memory and on virtual time.
#include "testing/fault_plan.h"
#include "testing/sim_backend.h"
#include "testing/sim_clock.h"
#include "testing/sim_file_system.h"
