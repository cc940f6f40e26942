import { useTranslations } from 'next-intl'
import { useBrowserName } from '#components/accounts/browser-name.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Overview } from './overview.ts'

/** The latest sign-ins with time and browser, so that people notice an intruder. */
export function LastSignIns({ signIns }: { signIns: Overview['sign_ins'] }) {
  const t = useTranslations('overview.signIns')
  const browserName = useBrowserName()
  return (
    <>
      <ul className="grid gap-1">
        {signIns.map(({ at, browser, is_current }) => (
          <li key={at}>
            <Time at={at} /> <span className="text-quiet">· {browserName(browser) || t('unknown')}</span>
            {is_current && <span className="text-accent"> · {t('current')}</span>}
          </li>
        ))}
      </ul>
      <p>
        <TextLink href="/account#sessions">{t('all')}</TextLink>
      </p>
    </>
  )
}
