import { Button } from '@/components/ui/Button'
import { Segmented } from '@/components/ui/Segmented'
import { useT } from '@/lib/i18n'
import type { View } from './TextDiff'

interface Props {
  view: View
  /** There is no room for two texts side by side. */
  narrow: boolean
  onChange: (view: View) => void
}

/** Chooses how two texts are compared. */
export function ViewChoice({ view, narrow, onChange }: Props) {
  const t = useT()
  const { layout, whole } = view
  const layouts = [
    { value: 'inline', words: t('changeInline') },
    { value: 'sides', words: t('changeSideBySide') },
  ] as const
  return (
    <>
      <Button size="small" aria-pressed={whole} onClick={() => onChange({ layout, whole: !whole })}>
        {t('changeAllLines')}
      </Button>
      {!narrow && (
        <Segmented
          label={t('changeView')}
          value={layout}
          options={layouts}
          onChange={chosen => onChange({ layout: chosen, whole })}
        />
      )}
    </>
  )
}
