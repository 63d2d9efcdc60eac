//! What a person does to sign in to a server.

use super::McpServers;
use super::address;
use super::oauth::{SignInAddress, SignInAnswer, SignInFailed, SignInRequest, callback_address};
use crate::domain::mcp::McpTransport;

impl McpServers {
    /// Begins a sign-in to a confirmed server: returns the address that the person opens. `callback` is where the browser comes
    /// back to.
    ///
    /// # Errors
    /// Returns a sentence if the server cannot be signed in to, or does not say how.
    pub async fn begin_sign_in(&self, name: &str, callback: &str) -> Result<SignInAddress, String> {
        let server = self.found(name).await?;
        let McpTransport::Http { url, oauth, .. } = &server.entry.transport else {
            return Err(format!("{name} is a program on this machine; it needs no sign-in"));
        };
        if !server.is_confirmed() {
            return Err(format!("nobody has confirmed the server {name}; a person does that in its list"));
        }
        let (callback, url) = (callback_address(callback)?, address::check_address(url)?);
        let authorization = server.authorization(&url)?;
        let authorization = authorization.ok_or("its entry has the header Authorization, which is used instead")?;
        let secret = oauth.client_secret.as_deref().map(|secret| server.expanded_text(secret)).transpose()?;
        let sign_ins = &self.shared.sign_ins;
        let request = SignInRequest { server: name, url: &url, configured: oauth, secret, callback: &callback };
        sign_ins.begin(request, authorization).await
    }

    /// Ends a sign-in with what the browser has brought back, and uses the server. Returns its name.
    ///
    /// # Errors
    /// Returns [`SignInFailed`] if none has begun, or there are no tokens.
    pub async fn finish_sign_in(&self, answer: SignInAnswer) -> Result<String, SignInFailed> {
        let this = self.clone();
        // The code counts once, so a browser that goes away does not stop the exchange.
        let finished = tokio::spawn(async move {
            let name = this.shared.sign_ins.finish(answer).await?;
            this.shared.offer_again();
            // A person sees in the list why it cannot be used.
            let _ = this.reconnect(&name).await;
            Ok(name)
        });
        finished.await.unwrap_or_else(|_| Err(SignInFailed::Failed("the server is shutting down".to_owned())))
    }

    /// Signs out of a server, and stops using it.
    ///
    /// # Errors
    /// Returns a sentence if there is no such server, or its file cannot be changed.
    pub async fn sign_out(&self, name: &str) -> Result<(), String> {
        let server = self.found(name).await?;
        self.shared.sign_ins.sign_out(name).await?;
        server.stop().await;
        self.shared.offer_again();
        Ok(())
    }

    /// Forgets the sign-in to a server that was removed.
    pub fn forget_sign_in(&self, name: &str) {
        self.shared.sign_ins.forget(name);
    }
}
