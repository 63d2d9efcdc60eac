import { useShallow } from 'zustand/react/shallow'
import { useStatus } from '@/api/queries'
import { useSignedOut } from '@/api/signedOut'
import { onDemand } from '@/components/onDemand'
import { useT } from '@/lib/i18n'
import { type DialogName, useUi } from '@/stores/ui'
import { reconnect } from './follow'
import { acceptSummary, bringBack, restore, signIn, undoAll } from './threads'

const SignIn = onDemand(() => import('@/features/auth/SignIn'))
const ModelDialog = onDemand(() => import('@/features/model/ModelDialog'))
const ShortcutSheet = onDemand(() => import('./ShortcutSheet'))
const Archive = onDemand(() => import('@/features/archive/Archive'))
const CompressDialog = onDemand(() => import('@/features/compress/CompressDialog'))
const Xray = onDemand(() => import('@/features/xray/Xray'))
const UndoWork = onDemand(() => import('@/features/undo/UndoWork'))
const UsageDialog = onDemand(() => import('@/features/usage/UsageDialog'))
const Settings = onDemand(() => import('@/features/settings/Settings'))

export function Dialogs({ sessionId }: { sessionId: string | null }) {
  const t = useT()
  const { dialog, xrayOf, undoOf, set } = useUi(useShallow(({ left, right, chunks, ...rest }) => rest))
  const model = useStatus().data?.model
  const signedOut = useSignedOut()
  const props = (name: DialogName) => ({
    open: dialog === name,
    onOpenChange: (open: boolean) => set({ dialog: open ? name : null }),
  })
  return (
    <>
      {signedOut && (
        <SignIn
          onSignIn={async token => {
            const problem = await signIn(token)
            if (problem === null) reconnect()
            return problem
          }}
        />
      )}
      {dialog === 'shortcuts' && <ShortcutSheet {...props('shortcuts')} />}
      {dialog === 'model' && <ModelDialog model={model} {...props('model')} />}
      {dialog === 'usage' && <UsageDialog {...props('usage')} />}
      {dialog === 'settings' && <Settings {...props('settings')} />}
      {dialog === 'xray' && <Xray {...props('xray')} sessionId={sessionId} work={xrayOf} />}
      {dialog === 'undo' && sessionId && undoOf && (
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
      )}
      {dialog === 'archive' && (
        <Archive
          {...props('archive')}
          sessionId={sessionId}
          onBringBack={name => sessionId && void bringBack(sessionId, name)}
          onRestore={({ id, title }) => void restore(id, title || t('untitled'))}
        />
      )}
      {dialog === 'compress' && sessionId && (
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
      )}
    </>
  )
}
