#pragma once

namespace kvstream::tier {

/// Names within a tier directory (docs/file_format.md).
inline constexpr char kControlDirectoryName[] = ".kvstream";
inline constexpr char kOwnersDirectoryName[] = ".kvstream/owners";
inline constexpr char kMarkerName[] = ".kvstream/tier";
inline constexpr char kCreateLockName[] = ".kvstream/create.lock";
/// Within a namespace's directory.
inline constexpr char kNamespaceFileName[] = "namespace.json";
/// Behind the name of an owner, in the owners' directory.
inline constexpr char kLockSuffix[] = ".lock";
inline constexpr char kSiblingsSuffix[] = ".siblings";
inline constexpr char kCleanSnapshotSuffix[] = ".snapshot";
inline constexpr char kStaleSnapshotSuffix[] = ".snapshot.stale";
inline constexpr char kControlTempSuffix[] = ".tmp";

}  // namespace kvstream::tier
