import { getTranslations } from 'next-intl/server'
import { FirstSteps } from '#components/home/steps.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { publicUrl, readEnv } from '#lib/config/env.ts'
import { personForFrame } from './page-access.ts'

export default async function FrontPage() {
  const [t, person] = await Promise.all([getTranslations('home'), personForFrame()])
  const url = publicUrl(readEnv())
  return (
    <main
      id="content"
      tabIndex={-1}
      className="mx-auto grid w-full max-w-5xl grow content-start gap-10 px-4 py-8 outline-none sm:px-6 sm:py-12 lg:grid-cols-2"
    >
      <section className="grid content-start gap-5">
        <h1 className="text-display font-semibold tracking-tight">{t('title')}</h1>
        <p className="text-lg text-quiet">{t('lead')}</p>
        <ul className="grid gap-2 border-l-2 border-accent pl-4">
          <li>{t('points.erasure')}</li>
          <li>{t.rich('points.receipt', { link: (text) => <TextLink href="/verify">{text}</TextLink> })}</li>
          <li>{t('points.audit')}</li>
        </ul>
        <p className="flex flex-wrap gap-2">
          {person ? (
            <ButtonLink href="/overview">{t('overview')}</ButtonLink>
          ) : (
            <ButtonLink href="/sign-in">{t('signIn')}</ButtonLink>
          )}
          <ButtonLink tone="plain" href="/verify">
            {t('verify')}
          </ButtonLink>
          <ButtonLink tone="ghost" href="/privacy">
            {t('notice')}
          </ButtonLink>
        </p>
        {!person && <p className="text-sm text-quiet">{t('peopleAccounts')}</p>}
      </section>
      <section
        aria-labelledby="developers"
        className="grid min-w-0 content-start gap-4 rounded-box border border-line bg-raised p-5"
      >
        <h2 id="developers" className="text-lg font-semibold">
          {t('developers')}
        </h2>
        <FirstSteps url={url} isDefault={url === 'http://localhost:3000'} />
        <p>
          <TextLink href="/docs/api">{t('reference')}</TextLink>
        </p>
      </section>
    </main>
  )
}
