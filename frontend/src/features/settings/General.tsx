import { Save, Square, Volume2 } from 'lucide-react'
import { Segmented } from '@/components/ui/Segmented'
import { Switch } from '@/components/ui/Switch'
import { setLang, useLang, useT } from '@/lib/i18n'
import { ROOTS, type Root } from '@/lib/roots'
import { setTheme, type Theme, useTheme } from '@/lib/theme'
import { LANGS, localeOf } from '@/locales'
import { setAutosave, useAutosave } from '@/stores/autosave'
import { useUi } from '@/stores/ui'

/** The appearance and behaviour of the page in this browser. */
export function General() {
  const t = useT()
  const lang = useLang()
  const theme = useTheme()
  const aloud = useUi(ui => ui.aloud)
  const solid = useUi(ui => ui.solid)
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

function AutosaveSwitch({ root }: { root: Root }) {
  const t = useT()
  const on = useAutosave(autosaved => autosaved[root])
  return (
    <Switch on={on} onChange={on => setAutosave(root, on)} icon={<Save size={13} aria-hidden />}>
      {t(root)}
    </Switch>
  )
}
