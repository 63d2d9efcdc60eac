//! The people of a server: their accounts, how they sign in, and what admins do. Nothing here reaches a person's home.

mod accounts;
mod admin;
mod attempts;
mod audit;
pub mod credential;
mod devices;
mod joining;
mod login_limiter;
mod members;
pub mod offline;
mod passwords;
mod proxy_user;
mod sign_ins;
mod totals;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, watch};

use super::{Engine, EngineError, TenantId, TenantRegistry};
use crate::clock;
use crate::domain::{Account, AccountBook, AccountId, AccountRefused, MembersRefused, UidRange};
use crate::store::{AccountsUnusable, StoreError};

pub use accounts::{LoginFrom, NewAccessToken, NewToken, ProfileChange, SignedIn};
pub use admin::{AccountChange, NewInvitation};
pub use audit::Act;
pub use credential::{Credential, NotAccepted};
pub use devices::DEVICE_LIFE;
pub use joining::Joining;
pub use login_limiter::LoginLimiter;
pub use members::{ProjectInvitation, ProjectPeople, ShownMember};
pub use proxy_user::ByProxy;
pub use sign_ins::SIGN_IN_LIFE;
pub use totals::{MeasuredSize, PersonTotals, PersonUsage};

use attempts::Attempts;
use devices::DeviceKey;
use members::Members;
use passwords::Passwords;
use sign_ins::SignInKeys;

/// The people of a server that several people use.
pub struct People {
    /// The home of the server, which holds the accounts.
    server: Arc<Engine>,
    tenants: Arc<TenantRegistry>,
    /// The accounts as they are on disk.
    book: watch::Sender<Arc<AccountBook>>,
    /// The hash of the file. Held while it is written.
    stored: Mutex<Option<String>>,
    members: Members,
    passwords: Passwords,
    keys: SignInKeys,
    devices: DeviceKey,
    names: Attempts,
    addresses: LoginLimiter,
    /// From which accounts get the users that their commands run as; absent if commands cannot run like that here.
    uids: Option<UidRange>,
    audit_quotas: audit::Quotas,
    sizes: totals::Sizes,
    /// Whether a trusted proxy has named people since the start.
    names_by_proxy: bool,
    /// With which the first account is made.
    setup_code: Option<String>,
}

/// Why the people of a server could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PeopleUnusable {
    #[error(transparent)]
    Accounts(#[from] AccountsUnusable),
    #[error("the key of sign-ins is missing")]
    NoSecret,
    #[error("passwords cannot be hashed on this machine")]
    NoHashes,
}

/// Why a request about accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    #[error(transparent)]
    Refused(#[from] AccountRefused),
    #[error("accounts.json was changed by another program; restart the server to use it")]
    ChangedOnDisk,
    #[error(transparent)]
    Members(MembersRefused),
    #[error("the audit log cannot be written, so nothing was changed: {0}")]
    NoAudit(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl People {
    /// Reads the accounts from the home of the server, whose tenant is `server`.
    ///
    /// # Errors
    /// Returns an error if they are damaged, or there is no key of sign-ins.
    pub async fn open(tenants: Arc<TenantRegistry>, server: Arc<Engine>) -> Result<Arc<Self>, PeopleUnusable> {
        let config = server.tenant().runtime.config();
        let secret = config.people.jwt_secret.as_ref().ok_or(PeopleUnusable::NoSecret)?;
        let home = server.tenant().home.clone();
        let (runtime, uids) = (server.tenant().runtime.clone(), config.people.uids);
        let read = tokio::task::spawn_blocking(move || {
            (home.accounts(), home.members(), runtime.sandbox.person_obstacle(uids))
        });
        let (stored, members, obstacle) = read.await.map_err(|_| AccountsUnusable::Store(StoreError::ShutDown))?;
        let stored = stored?;
        let members = Members::new(members.map_err(AccountsUnusable::Store)?);
        if let Some(obstacle) = &obstacle {
            tracing::warn!("the commands of people are left out: {obstacle}");
        }
        let people = Arc::new(Self {
            uids: obstacle.is_none().then_some(uids),
            setup_code: stored.book.accounts.is_empty().then(clock::new_secret),
            book: watch::Sender::new(Arc::new(stored.book)),
            stored: Mutex::new(stored.etag),
            members,
            passwords: Passwords::new().await.map_err(|_| PeopleUnusable::NoHashes)?,
            keys: SignInKeys::new(secret),
            devices: DeviceKey::new(secret),
            names: Attempts::default(),
            addresses: LoginLimiter::default(),
            audit_quotas: audit::Quotas::default(),
            sizes: totals::Sizes::default(),
            names_by_proxy: config.people.proxy_sign_in.is_some(),
            server,
            tenants,
        });
        people.look_at_exchange().await;
        people.tell_tenants();
        if people.uids.is_some() && people.book().accounts.iter().any(|account| account.uid.is_none()) {
            // Accounts of an earlier version, or of a server on which commands could not run.
            if let Err(error) = people.edit(|_| Ok(())).await {
                tracing::error!(%error, "accounts got no user for their commands; they have none until the next start");
            }
        }
        Ok(people)
    }

    /// Returns the code with which the first account is made, if there was none at the start. Its holder becomes the admin,
    /// so only the person who started the server may see it.
    pub fn setup_code(&self) -> Option<&str> {
        self.setup_code.as_deref()
    }

    pub fn has_accounts(&self) -> bool {
        !self.book().accounts.is_empty()
    }

    /// Returns an account.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Unknown`] if there is no such account.
    pub fn account(&self, id: &AccountId) -> Result<Account, AccountRefused> {
        self.book().account(id).cloned().ok_or(AccountRefused::Unknown)
    }

    /// Returns all accounts, oldest first.
    pub fn accounts(&self) -> Vec<Account> {
        self.book().accounts.clone()
    }

    /// Lets the commands of active accounts run, each as its user, and sets the limits of people.
    fn tell_tenants(&self) {
        let book = self.book();
        let active = book.accounts.iter().filter(|account| account.is_active);
        self.tenants
            .set_command_users(active.filter_map(|account| Some((TenantId::of_account(&account.id), account.uid?))));
        self.set_shares();
        let limits = book.accounts.iter().map(|account| (TenantId::of_account(&account.id), account.admin_limits()));
        self.tenants.set_limits(limits);
    }

    fn book(&self) -> Arc<AccountBook> {
        self.book.borrow().clone()
    }

    /// Changes the accounts: on disk first, then for everybody. Goes on even if the requester disconnects.
    ///
    /// # Errors
    /// Returns what `change` returns, and an error if the file cannot be written; nothing is changed then.
    async fn edit<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut AccountBook) -> Result<T, AccountRefused> + Send + 'static,
    ) -> Result<T, PeopleError> {
        let people = self.clone();
        let edited = tokio::spawn(async move {
            let mut stored = people.stored.lock().await;
            let mut book = AccountBook::clone(&people.book());
            let made = change(&mut book)?;
            if let Some(uids) = people.uids {
                book.allot_uids(uids);
            }
            let server = people.server.tenant();
            let saved = server.tree.save_accounts(server.claim, stored.clone(), &book).await;
            let etag = saved.map_err(|error| match error {
                StoreError::Conflict { .. } => PeopleError::ChangedOnDisk,
                error => EngineError::from(error).into(),
            })?;
            *stored = Some(etag);
            people.book.send_replace(Arc::new(book));
            people.tell_tenants();
            Ok(made)
        });
        edited.await.map_err(|_| EngineError::Internal("the change of accounts was cut off"))?
    }
}

/// Returns the hash of a random code or token, under which it is stored.
fn hash_of(code: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(code))
}

/// Returns a new id that says nothing about its person.
fn new_opaque_id() -> String {
    clock::new_secret().chars().take(20).collect()
}
