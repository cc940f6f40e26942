import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { HoldList } from '#components/holds/hold-list.tsx'
import { holdQuery } from '#components/holds/hold-query.ts'
import type { HoldTarget } from '#components/holds/target-field.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('holds'))('name') })

/** The person with this account id; undefined if there is none. */
async function personNamed(id: string): Promise<HoldTarget | undefined> {
  try {
    const { data } = await callUseCase(app.accounts.user, { params: { id } })
    return { targetId: data.account_id, target: data.name }
  } catch (error) {
    if (Problem.is(error, 'not_found', 'invalid')) return undefined
    throw error
  }
}

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function HoldsPage({ searchParams }: Props) {
  await requirePageAccess('holds')
  const { active, q, account } = await searchParams
  const asked = holdQuery(active === 'false' ? 'false' : 'true', typeof q === 'string' ? q : null)
  const [initial, person] = await Promise.all([
    callUseCase(app.holds.list, { query: asked }),
    typeof account === 'string' ? personNamed(account) : undefined,
  ])
  return (
    <Messages of={['holds', 'queue']}>
      <HoldList initial={initial} asked={asked} person={person} />
    </Messages>
  )
}
