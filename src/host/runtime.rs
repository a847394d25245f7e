//! Threads of tokio: how many of them may block, how long they wait for work, and what those that answer ask of the system.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::slices;

/// How long an idle thread waits for more work before it ends.
const IDLE_THREAD_MAX: Duration = Duration::from_secs(1);

/// Threads that may block in each runtime: each keeps some memory for itself, and with more of them nothing is answered sooner, unless
/// many wait for a slow disk.
const BLOCKING_THREADS_MAX: usize = 64;

/// Starts a runtime whose threads have this name; `adapt` sets what is special about them.
pub(crate) fn start(threads: &'static str, adapt: fn(&mut Builder)) -> std::io::Result<Runtime> {
    let mut runtime = Builder::new_multi_thread();
    adapt(&mut runtime);
    runtime.max_blocking_threads(BLOCKING_THREADS_MAX);
    // What a thread keeps of the memory that an answer took goes back when it ends.
    runtime.thread_keep_alive(IDLE_THREAD_MAX).thread_name(threads).enable_all().build()
}

/// Threads have short turns, and take in turn what other threads have made for an answer, and what is asked or can be sent. With the
/// former always first, long answers took three times as long in a crowd of 1,000; with the latter mostly first, as it is otherwise, each
/// first byte did (`pvark-lab retrieval --only crowd`).
pub(crate) fn for_answers(runtime: &mut Builder) {
    runtime.on_thread_start(slices::short).global_queue_interval(2);
}
