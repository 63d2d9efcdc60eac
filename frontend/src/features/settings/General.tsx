import { Save, Square, Volume2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { Segmented } from '@/components/ui/Segmented'
import { Switch } from '@/components/ui/Switch'
import {
  type Density,
  setDensity,
  setTextSize,
  TEXT_SIZES,
  type TextSize,
  useDensity,
  useTextSize,
} from '@/lib/display'
import { type Key, setLang, useLang, useT } from '@/lib/i18n'
import { type HomeRoot, ROOTS } from '@/lib/roots'
import { setTheme, type Theme, useTheme } from '@/lib/theme'
import { LANGS, localeOf } from '@/locales'
import { setAutosave, useAutosave } from '@/stores/autosave'
import { useUi } from '@/stores/ui'

const SIZE_WORDS = ['textSmall', 'textMedium', 'textLarge', 'textHuge'] as const satisfies readonly Key[]

/** The appearance and behaviour of the page in this browser. */
export function General() {
  const t = useT()
  const lang = useLang()
  const theme = useTheme()
  const aloud = useUi(ui => ui.aloud)
  const solid = useUi(ui => ui.solid)
  const textSize = useTextSize()
  const density = useDensity()
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Segmented
          label={t('languages')}
          value={lang}
          options={LANGS.map(value => ({ value, words: localeOf(value).name }))}
          onChange={chosen => void setLang(chosen)}
        />
        <Segmented<Theme>
          label={t('theme')}
          value={theme}
          options={[
            { value: 'light', words: t('themeLight') },
            { value: 'dark', words: t('themeDark') },
            { value: 'system', words: t('themeSystem') },
          ]}
          onChange={setTheme}
        />
      </div>
      <div className="mt-3 flex flex-wrap gap-x-4 gap-y-2">
        <Labelled words={t('textSize')}>
          <Segmented<TextSize>
            label={t('textSize')}
            value={textSize}
            options={TEXT_SIZES.map((value, i) => ({ value, words: t(SIZE_WORDS[i] ?? 'textMedium') }))}
            onChange={setTextSize}
          />
        </Labelled>
        <Labelled words={t('densityTitle')}>
          <Segmented<Density>
            label={t('densityTitle')}
            value={density}
            options={[
              { value: 'normal', words: t('densityNormal') },
              { value: 'compact', words: t('densityCompact') },
            ]}
            onChange={setDensity}
          />
        </Labelled>
      </div>
      <fieldset className="mt-3 flex flex-wrap items-center gap-1.5">
        <legend className="mb-1.5 text-fg-2 text-small">{t('autosave')}</legend>
        {ROOTS.map(root => (
          <AutosaveSwitch key={root} root={root} />
        ))}
      </fieldset>
      <p className="mt-1 text-fg-3 text-meta">{t('autosaveHint')}</p>
      <div className="mt-3 flex flex-wrap gap-1.5">
        <Switch
          on={aloud}
          onChange={aloud => useUi.setState({ aloud })}
          hint={t('readAloudHint')}
          icon={<Volume2 size={13} aria-hidden />}
        >
          {t('readAloud')}
        </Switch>
        <Switch
          on={solid}
          onChange={solid => useUi.setState({ solid })}
          icon={<Square size={13} aria-hidden />}
        >
          {t('solidPanes')}
        </Switch>
      </div>
    </>
  )
}

const Labelled = ({ words, children }: { words: string; children: ReactNode }) => (
  <div>
    <p className="mb-1.5 text-fg-2 text-small">{words}</p>
    {children}
  </div>
)

function AutosaveSwitch({ root }: { root: HomeRoot }) {
  const t = useT()
  const on = useAutosave(autosaved => autosaved[root])
  return (
    <Switch on={on} onChange={on => setAutosave(root, on)} icon={<Save size={13} aria-hidden />}>
      {t(root)}
    </Switch>
  )
}
