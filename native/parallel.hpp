// Splits a range of work over threads, while the calling thread reports progress and watches for a stop.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace grade {

// Called about ten times a second from the calling thread with the fraction done; false means stop.
using KeepGoing = std::function<bool(double)>;

struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// Calls work(thread, begin, end, stop) for consecutive chunks of [0, units) until all are done. Chunks go to
// whichever thread is free, so the caller must combine results in a way that does not depend on who did what.
// `work` looks at `stop` now and then when a chunk can take long. Throws Stopped if `keep_going` says no.
template <class Work>
void parallel_chunks(size_t units, size_t chunk, int threads, const KeepGoing& keep_going, Work&& work) {
  std::atomic<size_t> next{0}, done{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  int running = threads;
  std::exception_ptr error;

  auto run = [&](int thread) {
    try {
      for (size_t begin; !stop && (begin = next.fetch_add(chunk)) < units;) {
        const size_t end = std::min(units, begin + chunk);
        work(thread, begin, end, stop);
        done += end - begin;
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      stop = true;
    }
    std::lock_guard lock(mutex);
    --running;
    finished.notify_one();
  };

  std::vector<std::jthread> pool;
  for (int thread = 0; thread < threads; ++thread) pool.emplace_back(run, thread);
  bool stopped = false;
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
      if (stopped || !keep_going) continue;
      lock.unlock();
      bool go_on = false;
      try {
        go_on = keep_going(static_cast<double>(done) / static_cast<double>(units));
      } catch (...) {
        lock.lock();
        if (!error) error = std::current_exception();
        lock.unlock();
      }
      lock.lock();
      if (!go_on) stopped = stop = true;
    }
  }
  pool.clear();
  if (error) std::rethrow_exception(error);
  if (stopped) throw Stopped();
}

}  // namespace grade
