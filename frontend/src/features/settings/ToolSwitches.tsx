import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { ConfigRows } from './ConfigRows'

/** A switch for each tool, and the engine of web searches. */
export function ToolSwitches() {
  const t = useT()
  const [open, setOpen] = useFold('tool-switches', false)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="rounded-md py-1 text-fg-2 text-small hover:text-fg"
      summary={<span className="me-auto">{t('settingsToolSwitches')}</span>}
    >
      <p className="mb-2 text-fg-2 text-small">{t('settingsToolSwitchesHint')}</p>
      <ConfigRows part="tools" />
    </Disclosure>
  )
}
