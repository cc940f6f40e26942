import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { FirstSteps } from '#components/home/steps.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { publicUrl, readEnv } from '#lib/config/env.ts'
import { callUseCase, personForFrame } from './page-access.ts'

function Door({ id, title, lead, children }: { id: string; title: string; lead: string; children: ReactNode }) {
  return (
    <section
      aria-labelledby={id}
      className="grid min-w-0 content-start gap-4 rounded-box border border-line bg-raised p-5"
    >
      <div className="grid gap-1">
        <h2 id={id} className="text-lg font-semibold">
          {title}
        </h2>
        <p className="text-quiet">{lead}</p>
      </div>
      {children}
    </section>
  )
}

/** Two doors: for people, whose data it is, without commands; and for developers, who connect agents. */
export default async function FrontPage() {
  const [t, person, form] = await Promise.all([
    getTranslations('home'),
    personForFrame(),
    callUseCase(app.requests.readForm),
  ])
  const { is_on: hasForm, privacy_email: contact } = form.data
  const url = publicUrl(readEnv())
  return (
    <main
      id="content"
      tabIndex={-1}
      className="mx-auto grid w-full max-w-5xl grow grid-cols-[minmax(0,1fr)] content-start gap-8 px-4 py-8 outline-none sm:px-6 sm:py-12"
    >
      <div className="grid gap-3">
        <h1 className="text-display font-semibold tracking-tight">{t('title')}</h1>
        <p className="max-w-[42rem] text-lg text-quiet">{t('lead')}</p>
      </div>
      <div className="grid gap-6 lg:grid-cols-2">
        <Door id="people" title={t('people.title')} lead={t('people.lead')}>
          <p className="flex flex-wrap gap-2">
            {person ? (
              <>
                <ButtonLink href="/settings/privacy">{t('people.data')}</ButtonLink>
                <ButtonLink tone="plain" href="/overview">
                  {t('overview')}
                </ButtonLink>
              </>
            ) : (
              <ButtonLink href="/sign-in?callbackUrl=%2Fsettings%2Fprivacy">{t('people.see')}</ButtonLink>
            )}
            {hasForm && (
              <ButtonLink tone="plain" href="/request">
                {t('people.form')}
              </ButtonLink>
            )}
          </p>
          {!person && !hasForm && (
            <p>
              {contact === null
                ? t('people.ask')
                : t.rich('people.write', { email: () => <TextLink href={`mailto:${contact}`}>{contact}</TextLink> })}
            </p>
          )}
          <p>
            <TextLink href="/privacy">{t('notice')}</TextLink>
          </p>
        </Door>
        <Door id="developers" title={t('agents.title')} lead={t('agents.lead')}>
          <p className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <ButtonLink tone="plain" href={person ? '/agents' : '/sign-in?callbackUrl=%2Fagents'}>
              {person ? t('agents.open') : t('signIn')}
            </ButtonLink>
            <TextLink href="/docs/api">{t('reference')}</TextLink>
          </p>
          <details>
            <summary className="min-h-6 cursor-pointer text-accent">{t('agents.steps')}</summary>
            <div className="pt-4">
              <FirstSteps url={url} isDefault={url === 'http://localhost:3000'} />
            </div>
          </details>
        </Door>
      </div>
    </main>
  )
}
