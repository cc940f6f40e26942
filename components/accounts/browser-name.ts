import { useTranslations } from 'next-intl'

/** Words a stored name such as "Firefox on Linux" in the reader's language. */
export function useBrowserName(): (stored: string) => string {
  const t = useTranslations('common')
  return (stored) => {
    const [browser, system] = stored.split(' on ')
    return browser && system ? t('browserOn', { browser, system }) : stored
  }
}
