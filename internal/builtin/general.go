package builtin

import (
	"sync"

	"parley/internal/text"
)

// generalShare is the weight of a general word, relative to other words, in deciding whether there is an answer.
const generalShare = 0.5

// general returns the terms of general words, which occur in questions about anything.
var general = sync.OnceValue(func() map[string]bool {
	terms := make(map[string]bool)
	for _, t := range text.Terms(generalWords) {
		terms[t] = true
	}
	return terms
})

//nolint:misspell // English, German, French and Spanish
const generalWords = `
time times day days week month year hour minute moment date period while long short big small large huge
tiny high tall low old new young fast quick quickly slow slowly heavy wide broad deep far close easy easily
hard difficult simple cheap expensive good bad great nice best better worse worst right wrong main major
important common popular different similar special normal typical usual regular frequent frequently possible
impossible available necessary required sure certain true real actual actually exact exactly correct current
currently recent recently early late later ago long-term whole full complete total entire extra first second
third last next previous final people person persons man men woman women somebody folk human everyone guy
number amount quantity count degree level rate size length height width depth weight distance age speed
color colour shape price cost costs money value place location position spot area side part piece reason
purpose cause effect result difference example case fact idea problem matter aspect role name title word
term story life world work works live lives stay start begin end stop finish run move turn set put bring
send buy sell pay spend order receive accept allow allowed permit permitted let help show call called
contact reach talk speak write hear learn meet wait leave arrive visit carry hold stand sit lie fall rise
grow become remain exist belong lose lost rid do happen occur like love prefer recommend suggest consider
believe feel hope expect decide understand remember plan try attempt manage able enable cover involve
concern relate open back away together apart own
longer longest shorter shortest larger largest bigger biggest smaller smallest higher highest lower lowest taller tallest
older oldest newer newest younger youngest faster fastest slower slowest heavier heaviest lighter lightest cheaper
cheapest earlier earliest latest easier easiest nearest maximum minimum max min

zeit zeiten uhr uhrzeit tag tage tagen woche wochen monat monate monaten jahr jahre jahren stunde stunden minute minuten
datum kurz kurze groß große größte klein kleine kleinste hohe höher höchste niedrig niedrigste alt alte älteste neu neue neueste
schnell schnellste langsam schwer leicht einfach schwierig billig billigste teuer teuerste gut gute schlecht besser beste besten
wichtig wichtigste häufig möglich nötig notwendig sicher richtig falsch aktuell aktuelle derzeit erste ersten letzte letzten
nächste nächsten längste höchstens mindestens person personen leute mensch menschen anzahl zahl menge höhe größe länge
breite gewicht entfernung alter farbe preis kosten kostet geld ort stelle platz seite teil grund ursache folge unterschied
beispiel fall aufgabe rolle name namen titel wort geschieht passiert funktioniert bekommen bekomme bekommt erhalten erhält
erhalte zahlen bezahlen kaufen bringen senden schicken erlaubt anrufen erreichen sprechen schreiben warten verlassen
besuchen beginnt beginnen anfangen endet enden bleiben bleibt brauchen brauche braucht benötigen benötige benötigt beachten
wissen finden findet finde melden melde bedeuten

heure heures jour jours semaine semaines mois an ans année années date temps moment long longue longtemps court grand grande
petit petite haut haute bas basse nouveau nouvelle vieux ancien rapide lent facile difficile cher bon bonne mauvais meilleur
meilleure important importante possible nécessaire premier première dernier dernière prochain prochaine actuel actuelle
personne personnes gens nombre quantité niveau taux taille longueur hauteur largeur poids distance âge couleur prix coût
coûte coûtent argent lieu endroit côté partie raison cause effet différence exemple cas rôle nom titre mot
fonctionne demander permis autorisé aide appeler parler écrire attendre arriver arrive passe passer recevoir payer acheter
vendre envoyer utiliser besoin signifie commence finit trouver trouve devenir

hora horas día días semana semanas mes meses año años fecha tiempo momento largo larga corto corta grande pequeño pequeña alto
alta bajo baja nuevo nueva viejo vieja rápido lento fácil difícil caro barato bueno buena malo mejor peor importante
posible necesario primero primera último última próximo próxima actual persona personas gente número cantidad nivel tamaño
longitud altura anchura peso distancia edad color precio coste costo cuesta cuestan dinero lugar sitio parte razón causa efecto
diferencia ejemplo caso papel nombre título palabra pasa ocurre funciona permite permitido ayuda llamar llama hablar
escribir esperar llegar recibir recibe reciben pagar comprar vender enviar usar necesito necesita necesitan significa sirve empieza
termina encontrar encuentra
`
