import { isMulti, mayConfigure } from '@/api/multi'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { ConfigRows } from './ConfigRows'
import { OwnTools } from './OwnTools'

/** A switch for each tool: for everybody and the engine of web searches, and with several people for each of them. */
export function ToolSwitches() {
  const t = useT()
  const multi = isMulti()
  return (
    <>
      {multi && (
        <Part id="own-tools" title={t('ownTools')}>
          <OwnTools />
        </Part>
      )}
      {mayConfigure() && (
        <Part id="tool-switches" title={t(multi ? 'settingsToolsForAll' : 'settingsToolSwitches')}>
          <p className="mb-2 text-fg-2 text-small">{t('settingsToolSwitchesHint')}</p>
          <ConfigRows part="tools" />
        </Part>
      )}
    </>
  )
}

function Part({ id, title, children }: { id: string; title: string; children: React.ReactNode }) {
  const [open, setOpen] = useFold(id, false)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="rounded-md py-1 text-fg-2 text-small hover:text-fg"
      summary={<span className="me-auto">{title}</span>}
    >
      {children}
    </Disclosure>
  )
}
