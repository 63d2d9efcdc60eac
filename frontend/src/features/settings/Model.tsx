import { ChartColumn } from 'lucide-react'
import { useStatus } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { ModelLine } from '@/features/model/ModelLine'
import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'

/** The current model, and its usage. */
export function Model() {
  const t = useT()
  const model = useStatus().data?.model
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="min-w-0 flex-1">
        <ModelLine model={model} onOpen={() => useUi.setState({ dialog: 'model' })} />
      </div>
      <Button size="small" onClick={() => useUi.setState({ dialog: 'usage' })}>
        <ChartColumn size={14} aria-hidden />
        {t('usage')}
      </Button>
    </div>
  )
}
