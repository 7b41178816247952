// Makes a profile of the samples that a runtime records.
#pragma once

#include <string>

#include "cli/recording_sink.hpp"
#include "events/sampled_profile.hpp"
#include "nettrace/reader.hpp"

namespace farport::cli {

class ProfileSink final : public RecordingSink {
 public:
  ProfileSink(ipc::CollectTracing wanted, profile::Keep keep)
      : wanted_(std::move(wanted)), samples_(keep), reader_(samples_) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    process_ = runtime.name;
    return wanted_;
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override;

  /// What has come, once nothing more does.
  [[nodiscard]] profile::Profile take_profile();

 private:
  ipc::CollectTracing wanted_;
  std::string process_;
  events::SampledProfile samples_;
  nettrace::Reader reader_;
};

}  // namespace farport::cli
