import { getTranslations } from 'next-intl/server'
import { Rights } from '#components/home/rights.tsx'
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
      className="mx-auto grid w-full max-w-5xl grow content-start gap-x-10 gap-y-10 px-4 py-8 outline-none sm:px-6 sm:py-12 lg:grid-cols-[1fr_1.3fr]"
    >
      <section className="grid content-start gap-5">
        <h1 className="text-display font-semibold tracking-tight">{t('title')}</h1>
        <p className="text-lg text-quiet">{t('lead')}</p>
        <ul className="grid gap-2 border-l-2 border-accent pl-4">
          <li>{t('points.erasure')}</li>
          <li>{t.rich('points.receipt', { link: (text) => <TextLink href="/verify">{text}</TextLink> })}</li>
          <li>{t('points.audit')}</li>
        </ul>
        <div className="grid gap-3 border-t border-line pt-5">
          <h2 className="text-lg font-semibold">{t('people')}</h2>
          {person ? (
            <p className="text-quiet">{t('signedIn', { name: person.name })}</p>
          ) : (
            <>
              <p className="text-quiet">{t('peopleLead')}</p>
              <Rights />
            </>
          )}
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
        </div>
      </section>
      <section
        aria-labelledby="developers"
        className="grid min-w-0 content-start gap-4 lg:border-l lg:border-line lg:pl-10"
      >
        <h2 id="developers" className="text-lg font-semibold">
          {t('developers')}
        </h2>
        <p className="text-quiet">{t('developersLead')}</p>
        <FirstSteps url={url} isDefault={url === 'http://localhost:3000'} />
        <p className="text-quiet">
          {t.rich('reference', {
            reference: (text) => <TextLink href="/docs/api">{text}</TextLink>,
            privacy: (text) => <TextLink href="/privacy">{text}</TextLink>,
          })}
        </p>
      </section>
    </main>
  )
}
