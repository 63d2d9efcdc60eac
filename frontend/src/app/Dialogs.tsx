import { ErrorBoundary } from '@/components/ErrorBoundary'
import { closeDialog, useUi } from '@/stores/ui'
import { DIALOGS } from './dialogTable'

/** The open dialog. */
export function Dialogs() {
  const name = useUi(ui => ui.dialog?.name ?? null)
  const Shown = name && DIALOGS[name]
  return (
    <ErrorBoundary resetKey={name}>
      {Shown && <Shown key={name} open onOpenChange={open => !open && closeDialog()} />}
    </ErrorBoundary>
  )
}
