// Runs before the first paint, so that the page never flashes in the wrong theme or language.
// It is a file and not an inline script because the content security policy forbids those.
;(() => {
  const root = document.documentElement
  let theme = 'system'
  let lang = navigator.language || 'en'
  try {
    theme = localStorage.getItem('mc.theme') || theme
    lang = localStorage.getItem('mc.lang') || lang
    root.dataset.text = localStorage.getItem('mc.text') || '14'
    root.dataset.density = localStorage.getItem('mc.density') || 'normal'
  } catch {
    // storage is blocked: the defaults are good enough
  }
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = dark ? 'dark' : 'light'
  // The page knows which languages there are, and takes another where this one is not among them.
  root.lang = lang
})()
