import { Brain } from 'lucide-react'
import { Button } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { type Key, useT } from '@/lib/i18n'

type Thinking = boolean | null

const CHOICES: { thinking: Thinking; word: Key; short: Key }[] = [
  { thinking: null, word: 'thinkingAuto', short: 'thinkingAutoShort' },
  { thinking: true, word: 'thinkingOn', short: 'thinkingOnShort' },
  { thinking: false, word: 'thinkingOff', short: 'thinkingOffShort' },
]

interface Props {
  thinking: Thinking
  onThinking: (thinking: Thinking) => void
}

/** Chooses whether the model thinks before it writes; shown only if the model has that switch. */
export function ThinkingPicker({ thinking, onThinking }: Props) {
  const t = useT()
  const short = t(CHOICES.find(choice => choice.thinking === thinking)?.short ?? 'thinkingAutoShort')
  const trigger = (
    <Button
      size="small"
      look={thinking ? 'soft' : 'ghost'}
      className="my-0.5 pointer-coarse:my-1"
      title={t('thinkingChoose')}
    >
      <Brain size={14} aria-hidden />
      {short}
    </Button>
  )
  return (
    <Menu trigger={trigger} align="start">
      {CHOICES.map(choice => (
        <MenuItem
          key={choice.word}
          icon={<Brain size={14} aria-hidden />}
          checked={choice.thinking === thinking}
          onSelect={() => onThinking(choice.thinking)}
        >
          {t(choice.word)}
        </MenuItem>
      ))}
    </Menu>
  )
}
