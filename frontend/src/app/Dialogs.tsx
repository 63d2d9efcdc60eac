import { lazy, Suspense } from 'react'
import { ApiError } from '@/api/client'
import { useStatus } from '@/api/queries'
import { useT } from '@/lib/i18n'
import { type DialogName, useUi } from '@/stores/ui'
import { reconnect } from './follow'
import { acceptSummary, bringBack, restore, signIn, undoAll } from './threads'

const SignIn = lazy(() => import('@/features/auth/SignIn'))
const ModelDialog = lazy(() => import('@/features/model/ModelDialog'))
const ShortcutSheet = lazy(() => import('./ShortcutSheet'))
const Archive = lazy(() => import('@/features/archive/Archive'))
const CompressDialog = lazy(() => import('@/features/compress/CompressDialog'))
const Xray = lazy(() => import('@/features/xray/Xray'))
const UndoWork = lazy(() => import('@/features/undo/UndoWork'))
const Settings = lazy(() => import('@/features/settings/Settings'))

export function Dialogs({ sessionId }: { sessionId: string | null }) {
  const t = useT()
  const { dialog, xrayOf, undoOf, set } = useUi()
  const status = useStatus()
  const model = status.data?.model
  const signedOut = status.error instanceof ApiError && status.error.code === 'signed_out'
  const props = (name: DialogName) => ({
    open: dialog === name,
    onOpenChange: (open: boolean) => set({ dialog: open ? name : null }),
  })
  return (
    <>
      {signedOut && (
        <Suspense>
          <SignIn
            onSignIn={async token => {
              const problem = await signIn(token)
              if (problem === null) reconnect()
              return problem
            }}
          />
        </Suspense>
      )}
      {dialog === 'shortcuts' && (
        <Suspense>
          <ShortcutSheet {...props('shortcuts')} />
        </Suspense>
      )}
      {dialog === 'model' && (
        <Suspense>
          <ModelDialog model={model} {...props('model')} />
        </Suspense>
      )}
      {dialog === 'settings' && (
        <Suspense>
          <Settings {...props('settings')} />
        </Suspense>
      )}
      {dialog === 'xray' && (
        <Suspense>
          <Xray {...props('xray')} sessionId={sessionId} work={xrayOf} />
        </Suspense>
      )}
      {dialog === 'undo' && sessionId && undoOf && (
        <Suspense>
          <UndoWork
            key={undoOf}
            {...props('undo')}
            sessionId={sessionId}
            work={undoOf}
            onUndo={calls => {
              set({ dialog: null })
              void undoAll(sessionId, calls)
            }}
          />
        </Suspense>
      )}
      {dialog === 'archive' && (
        <Suspense>
          <Archive
            {...props('archive')}
            sessionId={sessionId}
            onBringBack={name => sessionId && void bringBack(sessionId, name)}
            onRestore={({ id, title }) => void restore(id, title || t('untitled'))}
          />
        </Suspense>
      )}
      {dialog === 'compress' && sessionId && (
        <Suspense>
          <CompressDialog
            key={sessionId}
            {...props('compress')}
            sessionId={sessionId}
            onAccept={async accepted => {
              const problem = await acceptSummary(sessionId, accepted)
              if (problem === null) set({ dialog: null })
              return problem
            }}
          />
        </Suspense>
      )}
    </>
  )
}
