import { Columns2, Eye } from 'lucide-react'
import { IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { togglePreview, type View } from './preview'
import '@/lib/later'

const CHOICES = [
  { view: 'both', words: 'previewBeside', Icon: Columns2 },
  { view: 'preview', words: 'previewOnly', Icon: Eye },
] as const

/** Switches between the text of a Markdown file, its preview, and both. */
export function PreviewSwitch({ view }: { view: View }) {
  const t = useT()
  return CHOICES.map(({ view: choice, words, Icon }) => (
    <IconButton
      key={choice}
      label={t(words)}
      size="smallIcon"
      aria-pressed={view === choice}
      onClick={() => togglePreview(choice, view)}
    >
      <Icon size={14} aria-hidden />
    </IconButton>
  ))
}
