import { ChartColumn } from 'lucide-react'
import { useAlways, useStatus } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { forget } from '@/features/approvals/actions'
import { ModelLine } from '@/features/model/ModelLine'
import { useSay, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { useUi } from '@/stores/ui'
import { AlwaysRules } from './AlwaysRules'
import { General } from './General'
import { levelWord, sandboxNote } from './sandbox'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

export default function Settings({ open, onOpenChange }: Props) {
  const t = useT()
  const say = useSay()
  const set = useUi(ui => ui.set)
  const rules = useAlways()
  const status = useStatus().data
  const level = status && levelWord(status.sandbox.level)
  const note = status && sandboxNote(say, status.sandbox)
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('settings')}>
      <General />
      <section aria-labelledby="settings-model" className="mt-5">
        <h3 id="settings-model" className="mb-1 font-semibold text-[13.5px]">
          {t('model')}
        </h3>
        <div className="flex flex-wrap items-center gap-2">
          <div className="min-w-0 flex-1">
            <ModelLine model={status?.model} onOpen={() => set({ dialog: 'model' })} />
          </div>
          <Button size="small" onClick={() => set({ dialog: 'usage' })}>
            <ChartColumn size={14} aria-hidden />
            {t('usage')}
          </Button>
        </div>
      </section>
      <section aria-labelledby="settings-approvals" className="mt-5">
        <h3 id="settings-approvals" className="font-semibold text-[13.5px]">
          {t('settingsApprovals')}
        </h3>
        <p className="mb-2 text-fg-2 text-small">{t('settingsApprovalsHint')}</p>
        <AlwaysRules
          rules={rules.data}
          error={rules.error && reasonOf(rules.error)}
          onRemove={rule => void forget(rule.id)}
        />
      </section>
      {status && (
        <section aria-labelledby="settings-about" className="mt-5">
          <h3 id="settings-about" className="mb-1 font-semibold text-[13.5px]">
            {t('about')}
          </h3>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-small">
            <Fact name={t('aboutVersion')} value={status.version} />
            <Fact name={t('aboutHome')} value={status.home} />
            <Fact
              name={t('aboutSandbox')}
              value={`${level ? t(level) : status.sandbox.level} — ${note}`}
              title={note === status.sandbox.note ? undefined : status.sandbox.note}
            />
          </dl>
        </section>
      )}
    </Dialog>
  )
}

const Fact = ({ name, value, title }: { name: string; value: string; title?: string | undefined }) => (
  <>
    <dt className="text-fg-2">{name}</dt>
    <dd title={title} className="min-w-0 [overflow-wrap:anywhere]">
      {value}
    </dd>
  </>
)
