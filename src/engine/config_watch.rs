//! Follows what a person changes in config.yml and `.env`, also on a server that does not have the home of the server.

use std::path::Path;
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::blocking;
use super::runtime::Runtime;
use super::watch::{QUIET, SWEEP};

/// The files that configure a server.
const NAMES: [&str; 2] = ["config.yml", ".env"];

impl Runtime {
    /// Applies changes of the two files until the runtime is dropped. Looks regularly, too, for file systems without events.
    pub fn watch_config(self: &Arc<Self>) {
        let (home, runtime) = (self.home.clone(), Arc::downgrade(self));
        let (to, mut changes) = mpsc::channel(1);
        tokio::spawn(async move {
            let watcher = blocking(move || Ok(watcher(&home, to))).await;
            // A change before the watcher was there is found now.
            loop {
                let followed = match runtime.upgrade() {
                    Some(runtime) => runtime.follow_config().await,
                    None => break,
                };
                if let Err(error) = followed {
                    tracing::warn!(%error, "the configuration could not be read");
                }
                if let Ok(change) = timeout(SWEEP, changes.recv()).await {
                    match change {
                        Some(()) => while let Ok(Some(())) = timeout(QUIET, changes.recv()).await {},
                        // There is no watcher.
                        None => tokio::time::sleep(SWEEP).await,
                    }
                }
            }
            drop(watcher);
        });
    }
}

fn watcher(folder: &Path, to: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let handler = move |event: notify::Result<notify::Event>| {
        let is_one = |path: &Path| path.file_name().is_some_and(|name| NAMES.iter().any(|known| name == *known));
        if let Ok(event) = event
            // Our own reads cause events too.
            && !event.kind.is_access()
            && (event.need_rescan() || event.paths.iter().any(|path| is_one(path)))
        {
            // One that waits is enough.
            let _ = to.try_send(());
        }
    };
    let watch = || {
        let mut watcher = notify::recommended_watcher(handler)?;
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        notify::Result::Ok(watcher)
    };
    watch()
        .inspect_err(|error| tracing::warn!(%error, "cannot watch config.yml; looking every {} s", SWEEP.as_secs()))
        .ok()
}
