import { Gauge } from 'lucide-react'
import { useState } from 'react'
import { setOwnLimits } from '@/api/endpoints'
import { refresh } from '@/api/queries'
import type { PersonLimits, TokenLimit } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { LimitsForm } from './LimitsForm'
import { ownOf } from './limits'

/** The limits at which a person wants to be asked before an answer goes on. */
export function OwnLimits({ limits }: { limits: readonly TokenLimit[] }) {
  const t = useT()
  const [open, setOpen] = useState(false)
  const own = ownOf(limits)
  const save = async (typed: PersonLimits | null) => {
    try {
      await setOwnLimits(typed)
      refresh(['usage'])
      return null
    } catch (error) {
      return reasonOf(error)
    }
  }
  if (!open) {
    return (
      <Button size="small" onClick={() => setOpen(true)}>
        <Gauge size={14} aria-hidden />
        {t(own ? 'ownLimitsChange' : 'ownLimitsSet')}
      </Button>
    )
  }
  return (
    <LimitsForm
      title={t('ownLimits')}
      hint={t('ownLimitsHint')}
      limits={own}
      clear={t('ownLimitsClear')}
      onSave={save}
      onClose={() => setOpen(false)}
    />
  )
}
