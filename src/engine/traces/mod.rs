//! Traces of works for a collector: OTLP over HTTP, with the names of OpenTelemetry's conventions for generative AI. They have ids,
//! names of models and tools, numbers and times, and no message, argument, result or path.

mod collector;
mod work_tracer;

use std::io;
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use secrecy::ExposeSecret;

use crate::config::TracesConfig;
use collector::Collector;
pub use work_tracer::WorkTracer;

/// Maximum time of one request to the collector.
const EXPORT_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time of sending what is left when the server stops.
const LAST_EXPORT: Duration = Duration::from_secs(2);

/// Where spans go. Those that the collector does not take in time are dropped; works never wait for it.
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Begins to send spans in batches. Must be called inside of the runtime.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be made.
    pub fn start(config: &TracesConfig) -> io::Result<Self> {
        let headers = config.headers.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new(&config.url, EXPORT_LIMIT).map_err(io::Error::other)?)
            .with_endpoint(config.url.as_str())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(EXPORT_LIMIT)
            .with_headers(headers.collect())
            .build()
            .map_err(io::Error::other)?;
        let about = [KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
        let resource = Resource::builder_empty().with_service_name("miniclaw").with_attributes(about).build();
        let provider = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
        Ok(Self { provider })
    }

    /// Sends what is left, if the collector takes it in time.
    pub async fn stop(&self) {
        let provider = self.provider.clone();
        let stopped = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(LAST_EXPORT)).await;
        if let Ok(Err(error)) = stopped {
            tracing::debug!(%error, "the last traces were not sent");
        }
    }

    fn tracer(&self) -> SdkTracer {
        self.provider.tracer_with_scope(InstrumentationScope::builder("miniclaw").build())
    }
}
