//! `miniclaw mcp login`: the person opens an address in a browser, which comes back to the page of the server.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::servers::{found, print_server};
use crate::cli::ask::client::Client;
use crate::domain::visible::visible;

/// How long the server waits for the person, and how often it is asked whether they have come back.
const WAIT: Duration = Duration::from_secs(600);
const STEP: Duration = Duration::from_millis(500);

pub async fn login(client: &Client, name: &str) -> anyhow::Result<ExitCode> {
    let begun = client.post(&format!("api/mcp/{name}/login"), json!({})).await?;
    let text = |field: &str| visible(begun[field].as_str().unwrap_or_default());
    eprintln!("Sign in to {name} at {}. Open this address in a browser on this machine:", text("issuer"));
    say!("{}", text("authorization_url"));
    let until = Instant::now() + WAIT;
    loop {
        tokio::time::sleep(STEP).await;
        let server = found(&client.get("api/mcp").await?, name)?;
        if server["signing_in"] == false || Instant::now() >= until {
            print_server(&server);
            let is_signed_in = server["sign_in"] == "signed_in";
            return Ok(if is_signed_in { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
}
