import '@/styles/index.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { knock } from '@/api/entrance'
import { askStatus, queryClient } from '@/api/queries'
import { connectEvents } from '@/app/follow'
import { Shell } from '@/app/Shell'
import { loadThread } from '@/app/threads'
import { hasUnsavedText } from '@/app/unsaved'
import { ErrorBoundary } from '@/components/ErrorBoundary'
import { followLink } from '@/features/auth/link'
import { followSignOut } from '@/features/auth/signOut'
import { openPassage, placeInAddress } from '@/features/editor/passage'
import { getLang, loadLocale, t } from '@/lib/i18n'
import { whenIdle } from '@/lib/idle'
import { cspNonce } from '@/lib/nonce'
import { personOfPage } from '@/lib/storage'
import { toast } from '@/stores/toasts'

// Radix locks the page's scroll with a style sheet of its own; without the nonce the policy would refuse it.
setNonce(cspNonce)

const root = document.getElementById('root')
if (!root) throw new Error('index.html has lost its #root')

/** Takes what an authorization server has added to the address, and removes it: no history and no bookmark contains it. */
function takeSignIn(): void {
  if (location.pathname !== '/oauth/callback') return
  const { search } = location
  history.replaceState(null, '', '/')
  void import('@/features/mcp/signInReturn')
    .then(it => it.endSignIn(search))
    .catch(() => toast(t('signInNotLoaded'), { tone: 'bad' }))
}

function start(page: HTMLElement) {
  takeSignIn()
  // The history is loaded first: it contains the event id from which the stream resumes.
  const opened = /^\/s\/([^/]+)/.exec(location.pathname)?.[1]
  // It counts as being loaded from now on; its request waits until the server has let this browser in.
  const entered = knock(askStatus)
  const loaded = opened ? loadThread(decodeURIComponent(opened)) : entered.then(() => null)
  void loaded.then(connectEvents)

  const place = placeInAddress(location.search)
  if (place) void openPassage(place)

  createRoot(page).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <ErrorBoundary>
          <Shell />
        </ErrorBoundary>
      </QueryClientProvider>
    </StrictMode>,
  )
}

// Asks before the page closes with unsaved text.
addEventListener('beforeunload', event => {
  if (hasUnsavedText()) event.preventDefault()
})

followSignOut()

// A page that knows no person asks whose session the browser has, when everything else is there. Without an answer it stays as
// it is.
if (personOfPage === null)
  whenIdle(() => void import('@/features/auth/recognize').then(it => it.recognizePerson()).catch(() => {}))

// A one-time link signs in before any other request.
// The page is rendered in a later task: the one that loaded all of this is long enough.
void Promise.all([followLink(), loadLocale(getLang()).catch(() => undefined)]).then(() =>
  setTimeout(start, 0, root),
)
