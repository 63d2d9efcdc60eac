import { CopyButton } from '@/components/ui/CopyButton'
import { useT } from '@/lib/i18n'

/** A text to type elsewhere, with a copy button. */
export function Way({ title, lines }: { title: string; lines: string }) {
  const t = useT()
  return (
    <li>
      <p className="mb-1">{title}</p>
      <div className="flex items-start gap-1 rounded-md border bg-code ps-3 pe-1 py-1">
        <pre className="plain scroll min-w-0 flex-1 py-0.5">{lines}</pre>
        <CopyButton label={t('copyCode')} text={() => lines} />
      </div>
    </li>
  )
}
