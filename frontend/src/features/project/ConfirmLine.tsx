import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  question: string
  /** The label of the button that does it. */
  action: string
  onCancel: () => void
  onConfirm: () => void
}

/** A question before something is lost. It takes the focus, which both answers have to give back. */
export function ConfirmLine({ question, action, onCancel, onConfirm }: Props) {
  const t = useT()
  return (
    <div className="flex flex-wrap items-center gap-2 border-t pt-1.5">
      <p role="alert" className="min-w-0 flex-1 basis-60 text-small">
        {question}
      </p>
      <span className="ms-auto flex gap-2">
        <Button size="small" autoFocus onClick={onCancel}>
          {t('cancel')}
        </Button>
        <Button size="small" look="danger" onClick={onConfirm}>
          {action}
        </Button>
      </span>
    </div>
  )
}
