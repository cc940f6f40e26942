import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { personForFrame } from '#app/page-access.ts'
import { AddressNotice } from '#components/accounts/address-notice.tsx'
import { SignInForm } from '#components/accounts/sign-in-form.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { openIdProvider, publicUrl } from '#lib/config/env.ts'
import { returnPath } from '#lib/domains/accounts/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('signIn'))('title') })

const ownOrigin = publicUrl(app.env)
/** Returns the path of a URL of this installation. NextAuth always writes complete URLs. */
const pathOf = (text: string): string => (text.startsWith(`${ownOrigin}/`) ? text.slice(ownOrigin.length) : text)

export default async function SignInPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const { callbackUrl, error } = await searchParams
  const next = returnPath(typeof callbackUrl === 'string' ? pathOf(callbackUrl) : undefined)
  const [t, person] = await Promise.all([getTranslations('signIn'), personForFrame()])
  if (person) redirect(next)
  const provider = openIdProvider(app.env)?.name
  return (
    <Messages of={['signIn']}>
      <Page width="narrow" title={t('title')}>
        <AddressNotice origin={ownOrigin} next={next} />
        <SignInForm next={next} provider={provider} error={typeof error === 'string' ? error : undefined} />
        <p className="text-sm">
          <TextLink href="/password/forgotten">{t('forgotten')}</TextLink>
        </p>
      </Page>
    </Messages>
  )
}
