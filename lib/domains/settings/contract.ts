import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

/**
 * An origin that may embed the form: `https://host` with an optional port, or `http://localhost`. The text becomes part
 * of a header, so nothing else is allowed.
 */
const embeddingOrigin =
  /^(?:https:\/\/[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?)*|http:\/\/(?:localhost|127\.0\.0\.1))(?::\d{1,5})?$/

export const RequestFormSettings = z
  .strictObject({
    is_on: z.boolean(),
    origins: z
      .array(z.string().max(300).regex(embeddingOrigin, 'must be an origin such as https://www.example.org'))
      .max(20, 'must have at most 20 origins')
      .refine((list) => new Set(list).size === list.length, 'must name each origin once')
      .meta({ description: 'Origins of websites that may embed the form' }),
  })
  .meta({ id: 'RequestFormSettings' })
export type RequestFormSettings = z.output<typeof RequestFormSettings>

const Settings = z
  .strictObject({
    anonymous_reading: z
      .boolean()
      .meta({ description: 'Whether units with the visibility `network` can be read without a token' }),
    request_form: RequestFormSettings.meta({ description: 'The public form for privacy requests without an account' }),
  })
  .meta({ id: 'Settings' })

const resource = { resourceType: 'settings' }
const output = z.strictObject({ data: Settings })

export const readSettings = operation({
  id: 'readSettings',
  method: 'get',
  path: '/v1/settings',
  summary: 'Get the settings that admins can change at run time',
  permission: 'settings:admin',
  audit: resource,
  output,
})

export const editSettings = operation({
  id: 'editSettings',
  needsRecentPassword: true,
  method: 'patch',
  path: '/v1/settings',
  summary: 'Change settings',
  description: 'Omitted fields remain unchanged. Changes reach all processes within a second.',
  permission: 'settings:admin',
  audit: resource,
  body: Settings.partial(),
  output,
})
