//! How people get accounts.

use std::net::IpAddr;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{People, PeopleError, hash_of, new_opaque_id};
use crate::clock;
use crate::config::people::Registration;
use crate::domain::account::NewAccount;
use crate::domain::account_fields::{Username, checked_email, checked_password};
use crate::domain::{Account, AccountBook, AccountId, AccountRefused, AccountRole};

/// A person who wants an account.
pub struct Joining<'a> {
    pub username: &'a str,
    pub password: &'a str,
    pub email: Option<&'a str>,
    /// The code of an invitation.
    pub invitation: Option<&'a str>,
    /// For the first account: the code that the server printed.
    pub setup_code: Option<&'a str>,
    /// Whom a trusted proxy names on the request.
    pub named: Option<&'a Username>,
}

impl People {
    /// Who may make an account now.
    pub fn registration(&self) -> Registration {
        self.tenants.runtime().config().people.registration
    }

    /// Makes an account. The first one is the admin's, and needs the code that the server printed, so that no stranger
    /// becomes admin: other people of this machine, and everybody behind a proxy, reach the server from this machine too.
    ///
    /// # Errors
    /// Returns [`AccountRefused`] if the person may not make an account, or the name, address or password is not allowed;
    /// [`AccountRefused::NameOfProxy`] if a proxy names people, and does not name this person so.
    pub async fn register(self: &Arc<Self>, new: Joining<'_>, source: IpAddr) -> Result<Account, PeopleError> {
        self.addresses.check(source).map_err(AccountRefused::Wait)?;
        let registration = self.registration();
        let invitation = new.invitation.map(str::trim).filter(|code| !code.is_empty()).map(hash_of);
        let now = clock::now();
        let id = AccountId::parse(&new_opaque_id()).ok_or(AccountRefused::Busy)?;
        let has_setup_code = self.is_setup_code(new.setup_code.or(new.invitation));
        let candidate = Candidate { id: id.clone(), has_setup_code, invitation, now };
        let admitted = move |book: &mut AccountBook| candidate.admit(book, registration);
        if let Err(refused) = admitted(&mut AccountBook::clone(&self.book())) {
            self.addresses.record_failure(source);
            return Err(refused.into());
        }
        let username = Username::parse(new.username)?;
        self.require_name_of_proxy(&username, new.named)?;
        let email = new.email.filter(|email| !email.trim().is_empty()).map(checked_email).transpose()?;
        let password = checked_password(new.password, &username)?;
        let free = self.book().require_free(None, Some(&username), email.as_deref());
        if registration == Registration::Open || free.is_err() {
            // One person needs one account, and nobody may try out which names there are.
            self.addresses.record_failure(source);
        }
        free?;
        let password_hash = {
            let turn = self.passwords.turn().await?;
            self.passwords.hash(&turn, &password).await?
        };
        self.edit(move |book| {
            let role = admitted(book)?;
            book.add(NewAccount { id, username, email, password_hash, role, now }).cloned()
        })
        .await
    }

    /// Whoever took the name that somebody else has at the proxy would get them into an account whose password they know.
    fn require_name_of_proxy(&self, username: &Username, named: Option<&Username>) -> Result<(), AccountRefused> {
        let is_theirs = !self.signs_in_by_proxy() || named.is_some_and(|named| named.key() == username.key());
        // The first account is made with the code of whoever runs the server.
        if is_theirs || !self.has_accounts() { Ok(()) } else { Err(AccountRefused::NameOfProxy) }
    }

    /// Whether a trusted proxy names people, now or after a restart.
    pub(super) fn signs_in_by_proxy(&self) -> bool {
        self.names_by_proxy || self.tenants.runtime().config().people.proxy_sign_in.is_some()
    }

    fn is_setup_code(&self, given: Option<&str>) -> bool {
        let given = Sha256::digest(given.unwrap_or_default().trim());
        self.setup_code.as_ref().is_some_and(|code| Sha256::digest(code).ct_eq(&given).into())
    }
}

/// What a person who wants an account has shown.
struct Candidate {
    id: AccountId,
    has_setup_code: bool,
    /// The hash of the code of an invitation.
    invitation: Option<String>,
    now: f64,
}

impl Candidate {
    /// Returns the role of the account, and uses up the invitation.
    fn admit(&self, book: &mut AccountBook, registration: Registration) -> Result<AccountRole, AccountRefused> {
        if book.accounts.is_empty() {
            return if self.has_setup_code { Ok(AccountRole::Admin) } else { Err(AccountRefused::SetupCodeNeeded) };
        }
        match registration {
            Registration::Open => Ok(AccountRole::User),
            Registration::Closed => Err(AccountRefused::RegistrationClosed),
            Registration::Invite => {
                let invitation = self.invitation.as_deref().ok_or(AccountRefused::InvitationNeeded)?;
                book.accept(invitation, (&self.id, self.now)).map(|()| AccountRole::User)
            }
        }
    }
}
