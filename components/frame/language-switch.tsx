import { clsx } from 'clsx'
import { useLocale, useTranslations } from 'next-intl'

const languages = [
  { locale: 'en', short: 'EN', name: 'English' },
  { locale: 'zh', short: '中', name: '中文' },
] as const

/** A form, so that it works before hydration. */
export function LanguageSwitch({ choose }: { choose: (form: FormData) => Promise<void> }) {
  const t = useTranslations('frame')
  const current = useLocale()
  return (
    <form action={choose} className="flex items-center" aria-label={t('language')}>
      {languages.map(({ locale, short, name }) => (
        <button
          key={locale}
          type="submit"
          name="locale"
          value={locale}
          lang={locale}
          title={name}
          aria-label={name}
          aria-pressed={locale === current}
          className={clsx(
            'min-h-9 min-w-8 rounded-small px-1.5 text-sm hover:bg-sunken hover:text-ink',
            // The narrowest phones have only room for the other language.
            locale === current ? 'font-semibold text-ink max-[22rem]:hidden' : 'text-quiet',
          )}
        >
          {short}
        </button>
      ))}
    </form>
  )
}
