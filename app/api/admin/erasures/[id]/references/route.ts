import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.references.undecidedReferences)
export const POST = route(app.references.decideReferences)
