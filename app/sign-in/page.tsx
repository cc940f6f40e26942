import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { SignInForm } from '#components/accounts/sign-in-form.tsx'
import { Page } from '#components/ui/page.tsx'
import { returnPath } from '#lib/domains/accounts/rules.ts'
import { personForFrame } from '../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('signIn'))('title') })

export default async function SignInPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const { callbackUrl } = await searchParams
  const next = returnPath(typeof callbackUrl === 'string' ? callbackUrl : undefined)
  const [t, person] = await Promise.all([getTranslations('signIn'), personForFrame()])
  if (person) redirect(next)
  return (
    <Page width="narrow" title={t('title')} lead={<p>{t('lead')}</p>}>
      <SignInForm next={next} />
      <p className="text-sm text-quiet">{t('forgotten')}</p>
    </Page>
  )
}
