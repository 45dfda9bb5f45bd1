"""Words of other languages in names of events, members and form fields: German, French, Spanish, Italian, Dutch, Portuguese.

For bodies that people write themselves in a relay or a form. Only words that are no English ones, and no texts of messages.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from touchbase.adapters.kit.status_labels import words

_ENGLISH = {
    "event": "ereignis evento evenement gebeurtenis",
    "email": "courriel correo emailadresse mailadresse",
    "first name": "vorname prenom voornaam nombre",
    "last name": "nachname nom apellido apellidos achternaam cognome sobrenome",
    "phone": "telefon telefono telefone telefoon",
    "company": "firma unternehmen entreprise societe empresa bedrijf azienda",
    "full": "vollstandiger vollstaendiger",
    "contact": "kontakt contacto contatto contato",
    "customer": "kunde cliente klant",
    "lead": "interessent prospecto",
    "address": "adresse direccion indirizzo endereco adres",
    "date": "datum fecha",
    "start": "beginn debut inicio inizio",
    "appointment": "termin rdv cita afspraak appuntamento",
    "meeting": "reunion reuniao riunione",
    "booked": "gebucht vereinbart reserve reservee reservado reservada agendado agendada geboekt prenotato prenotata",
    "canceled": "abgesagt storniert annule annulee cancelado cancelada geannuleerd annullato annullata",
    "rescheduled": "verschoben reprogramado reprogramada verzet",
    "reply": "antwort reponse respuesta antwoord risposta resposta",
    "replied": "geantwortet beantwortet repondu respondido beantwoord",
    "received": "erhalten eingegangen recu recue recibido recibida ontvangen ricevuto ricevuta recebido recebida",
    "opened": "geoffnet geoeffnet ouvert ouverte abierto abierta geopend aperto aperta aberto aberta",
    "clicked": "geklickt angeklickt clique cliquee clic geklikt cliccato cliccata clicado clicada",
    "sent": "gesendet versendet verschickt envoye envoyee enviado enviada verzonden inviato inviata",
    "delivered": "zugestellt delivre delivree entregado entregada afgeleverd consegnato consegnata entregue",
    "bounced": "unzustellbar rebond rebote rebotado",
    "unsubscribed": "abgemeldet ausgetragen desabonne desabonnee desinscrit desinscrite baja afgemeld uitgeschreven"
    " disiscritto descadastrado",
    "created": "erstellt angelegt cree creee creado creada aangemaakt creato creata criado criada",
    "updated": "geandert geaendert aktualisiert bearbeitet modifie modifiee actualizado actualizada"
    " modificado modificada bijgewerkt gewijzigd aggiornato aggiornata atualizado atualizada",
    "deleted": "geloscht geloescht supprime supprimee eliminado eliminada borrado borrada verwijderd eliminato eliminata excluido excluida",
    "new": "neu neue neuer nouveau nouvelle nuevo nueva nieuw nieuwe nuovo nuova novo nova",
}
_OF_WORD = {foreign: english for english, foreigns in _ENGLISH.items() for foreign in foreigns.split()}
FOREIGN = frozenset(_OF_WORD)
"""All these words, without accents: a body without one of them as a member's name is not looked at further."""
_LONGEST = 100


def in_english(name: str) -> str:
    """Return a name as lower-case words with those of other languages in English; the words themselves if none is."""
    return _in_english(name) if len(name) <= _LONGEST else words(name)


@lru_cache(maxsize=2_000)
def _in_english(name: str) -> str:
    plain = words(name)
    bare = plain if plain.isascii() else "".join(char for char in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(char))
    parts = bare.split()
    return plain if FOREIGN.isdisjoint(parts) else " ".join(_OF_WORD.get(part, part) for part in parts)


def english_key(name: str) -> str | None:
    """Return a member's name in English, `vorname` as `first_name`; None if it is no word of another language."""
    english = in_english(name)
    return None if english == words(name) else english.replace(" ", "_")
