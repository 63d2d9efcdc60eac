import { ClipboardType } from 'lucide-react'
import { CopyingButton, useCopying } from '@/components/ui/CopyButton'
import { useT } from '@/lib/i18n'

/** Copies a message as it looks, for a word processor or a mail. */
export function RichCopyButton({ text }: { text: () => string }) {
  const t = useT()
  const copying = useCopying(async () => (await import('./copyRich')).copyRich(text()))
  return <CopyingButton label={t('copyRich')} icon={ClipboardType} copying={copying} />
}
