// SPDX-License-Identifier: MIT
// Everything a game needs in order to be recorded, played back and verified.
#pragma once

#include "twinstep/replay/bisect.hpp"
#include "twinstep/replay/checks.hpp"
#include "twinstep/replay/difference.hpp"
#include "twinstep/replay/edit.hpp"
#include "twinstep/replay/follow.hpp"
#include "twinstep/replay/inputs.hpp"
#include "twinstep/replay/keyframes.hpp"
#include "twinstep/replay/names.hpp"
#include "twinstep/replay/pack.hpp"
#include "twinstep/replay/playback.hpp"
#include "twinstep/replay/player.hpp"
#include "twinstep/replay/reader.hpp"
#include "twinstep/replay/recorder.hpp"
#include "twinstep/replay/recover.hpp"
#include "twinstep/replay/segments.hpp"
#include "twinstep/replay/signature.hpp"
#include "twinstep/replay/text.hpp"
#include "twinstep/replay/writer.hpp"
