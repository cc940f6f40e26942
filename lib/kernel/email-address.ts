import { z } from 'zod'

const local = String.raw`[\p{L}\p{M}\p{N}_'+\-]`
/**
 * An email address (RFC 5321), also with an internationalized local part or domain (RFC 6531): `jo@bücher.example`. Every repetition ends at
 * a character that the next one does not contain, so a long text takes linear time.
 */
const pattern = new RegExp(
  String.raw`^(?:${local}+\.)*${local}*[\p{L}\p{M}\p{N}_+\-]@(?:[\p{L}\p{N}][\p{L}\p{M}\p{N}\-]*\.)+(?:\p{L}[\p{L}\p{M}]+|[xX][nN]--[A-Za-z0-9\-]+)$`,
  'u',
)

export const EmailAddress = z.email({ pattern, error: 'must be an email address' })
/** As long as SMTP allows. */
export const SentEmailAddress = EmailAddress.max(320).meta({ id: 'EmailAddress' })
