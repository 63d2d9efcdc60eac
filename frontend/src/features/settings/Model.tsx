import { ChartColumn } from 'lucide-react'
import { useStatus } from '@/api/queries'
import { CommandButton } from '@/components/CommandButton'
import { ModelLine } from '@/features/model/ModelLine'
import { useT } from '@/lib/i18n'

/** The current model, and its usage. */
export function Model() {
  const t = useT()
  const model = useStatus().data?.model
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="min-w-0 flex-1">
        <ModelLine model={model} />
      </div>
      <CommandButton command="usage" size="small">
        <ChartColumn size={14} aria-hidden />
        {t('usage')}
      </CommandButton>
    </div>
  )
}
