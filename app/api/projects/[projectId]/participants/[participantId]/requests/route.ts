import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.requests.listForParticipant)
export const POST = route(app.requests.fileForParticipant)
