import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.tokens.list)
export const POST = route(app.tokens.create)
