import { ErrorBoundary } from '@/components/ErrorBoundary'
import { useUi } from '@/stores/ui'
import { DIALOGS } from './dialogTable'

/** The open dialog. */
export function Dialogs() {
  const name = useUi(ui => ui.dialog)
  const Shown = name && DIALOGS[name]
  return (
    <ErrorBoundary resetKey={name}>
      {Shown && (
        <Shown key={name} open onOpenChange={open => useUi.setState({ dialog: open ? name : null })} />
      )}
    </ErrorBoundary>
  )
}
